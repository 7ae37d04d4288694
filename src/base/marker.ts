/** The variable by which everything that an execution started is found again; every process inherits it. */
export const MARKER_NAME = 'MCP_SHELL_EXECUTION';

/** The same for what a server has started and no execution has yet. */
export const SERVER_MARKER_NAME = 'MCP_SHELL_SERVER';
