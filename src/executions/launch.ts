/** Starts an execution whose pipes this server holds: foreground, adaptive and background. */
import type { Sink, StreamType } from '../outputs/types.ts';
import type { LaunchPermit } from '../security/security.ts';
import { type EnclosedTools, startEnclosed } from './enclosed.ts';
import type { Live } from './live.ts';

export interface LaunchSpec {
  readonly id: string;
  readonly permit: LaunchPermit;
  readonly inputData: string | undefined;
  readonly streams: readonly StreamType[];
  openSinks(): ReadonlyMap<StreamType, Sink>;
  readonly wantsState: boolean;
}

export interface LaunchTools extends EnclosedTools {
  readonly bootId: string;
}

export async function launch(spec: LaunchSpec, tools: LaunchTools): Promise<Live> {
  const { permit } = spec;
  let sinks: ReadonlyMap<StreamType, Sink> = new Map();
  const { capture, group, tree, ending } = await startEnclosed(
    {
      id: spec.id,
      argv: permit.argv,
      environment: permit.environment,
      directory: permit.directory,
      marker: permit.marker,
      limits: permit.limits,
      wall: permit.wall,
      masked: permit.masked,
      inputData: spec.inputData,
      streams: spec.streams,
      openSinks() {
        sinks = spec.openSinks();
        return sinks;
      },
      wantsState: spec.wantsState,
    },
    tools,
  );
  return {
    tree,
    process: {
      ...capture.identity,
      bootId: tools.bootId,
      marker: permit.marker,
      ...(group !== undefined && { group: group.path }),
      ...(permit.wall?.kind === 'bubblewrap' && { isWalled: true }),
    },
    finished: ending.finished,
    end: ending.end,
    request: ending.request,
    outputBytes: () => Math.max(0, ...[...sinks.values()].map((sink) => sink.totalBytes)),
    onOutput: capture.onOutput,
    state: capture.state,
  };
}
