/** For our other processes (the wrapper of a detached execution has its own way in): to start, watch and end a tree. */
export { createCgroups } from './cgroups/cgroups.ts';
export type { Held } from './detached/launch-detached.ts';
export { leaveOutcome, reserveOutcome } from './detached/outcome-files.ts';
export { runHelper, runInTerminal } from './helper.ts';
export { type Launched, launch } from './launch.ts';
export { killOwnProgram, readSpec, reply, startOwnProgram } from './own-program.ts';
export { createPipes } from './pipes.ts';
export {
  findProcess,
  isAlive,
  listChildren,
  listProcesses,
  type ProcessEntry,
  type ProcessIdentity,
} from './process-table.ts';
export type { Outcome } from './record.ts';
export { createSpawner, forkerBeside } from './spawner.ts';
