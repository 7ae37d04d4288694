/** The variable by which everything that an execution started is found again; every process inherits it. */
export const MARKER_NAME = 'MCP_SHELL_EXECUTION';
