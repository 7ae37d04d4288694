/** Starts the process that holds terminals before the rest of the server is there to say what it is to do. */
import { type BootedProgram, bootOwnProgram } from '../executions/own-program.ts';

export type { BootedProgram } from '../executions/own-program.ts';

/** Its directory it finds in its specification. */
export const bootHost = (program: string): BootedProgram =>
  bootOwnProgram({ path: program, cwd: '/', searchPath: '/usr/bin:/bin' });
