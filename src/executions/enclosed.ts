/**
 * A process with everything that follows it to its end: its output, its tree (in a cgroup where there can be one) and
 * its ending. The server starts one for an ordinary execution, the wrapper for a detached one.
 */
import { type Capture, type CaptureSpec, startCapture } from './capture.ts';
import type { Cgroups, ExecutionGroup } from './cgroup.ts';
import { createEnding, type Ending } from './ending.ts';
import type { Pipes } from './pipes.ts';
import { createTree, type ProcessTree } from './tree.ts';

export interface EnclosedSpec extends CaptureSpec {
  /** Names the cgroup. */
  readonly id: string;
  readonly marker: string;
  readonly memoryLimitBytes: number | undefined;
}

export interface Enclosed {
  readonly capture: Capture;
  readonly group: ExecutionGroup | undefined;
  readonly tree: ProcessTree;
  readonly ending: Ending;
}

export interface EnclosedTools {
  readonly pipes: Pipes;
  readonly cgroups: Cgroups;
  now(): number;
}

export async function startEnclosed(
  spec: EnclosedSpec,
  { pipes, cgroups, now }: EnclosedTools,
): Promise<Enclosed> {
  const { marker, memoryLimitBytes } = spec;
  const group = cgroups.create(spec.id);
  const argv = group?.joining(spec.argv, spec.environment) ?? spec.argv;
  const capture = await startCapture({ ...spec, argv }, pipes).catch((error: unknown) => {
    group?.remove();
    throw error;
  });
  const tree = createTree({ leader: capture.identity, marker, group });
  return { capture, group, tree, ending: createEnding(capture, tree, { memoryLimitBytes, now }) };
}
