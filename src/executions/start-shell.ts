/** Starts a shell that waits for its command without a sandbox (`prestarted-shell.ts`). */
import { closeSync } from 'node:fs';
import { randomText } from '../base/ids.ts';
import type { Limits } from '../security/security.ts';
import { createCapture, type OutputPipes } from './capture.ts';
import { withMarker } from './environment-words.ts';
import { dataLimitOf } from './limit-enforcement.ts';
import { createMarker, placeOf, type ShellSpec } from './prestarted-shell.ts';
import type { SandboxTools } from './sandbox-tools.ts';
import type { Prestarted } from './sandboxed.ts';

export async function startShell(
  shell: ShellSpec,
  limits: Limits,
  { pipes, cgroups, spawner }: SandboxTools,
): Promise<Prestarted> {
  const { fileBytes, ...held } = limits;
  const group = cgroups.create(`shell-${randomText()}`, held);
  const { isMerged, hasStderr, keepsState } = shell;
  const output: OutputPipes = {
    stdout: await pipes.take(),
    stderr: hasStderr ? await pipes.take() : undefined,
    state: keepsState ? await pipes.take() : undefined,
  };
  const capture = createCapture(output, pipes.turns);
  const handoff = await pipes.takeHandoff();
  const marker = createMarker();
  try {
    const child = await spawner.start({
      argv: shell.argv,
      environment: withMarker(shell.environment, marker),
      directory: shell.directory,
      descriptors: [
        undefined,
        output.stdout?.end,
        isMerged ? output.stdout?.end : output.stderr?.end,
        output.state?.end,
        undefined,
        undefined,
        undefined,
        handoff.end,
      ],
      groups: group?.joinFiles ?? [],
      mustJoin: group?.mustJoin ?? false,
      limits: { fileBytes, dataBytes: dataLimitOf(limits.memoryBytes, group) },
    });
    return {
      child,
      capture,
      group,
      init: child.identity,
      handoffFd: handoff.fd,
      input: undefined,
      shell: { marker, place: () => placeOf(`/proc/${child.identity.pid}/cwd`) },
    };
  } catch (error) {
    capture.close();
    closeSync(handoff.fd);
    group?.remove();
    throw error;
  }
}
