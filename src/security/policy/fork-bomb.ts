/** Functions that start themselves more than once without waiting: `:(){ :|:& };:` in all its names. */
import type { Findings, Invocation } from './findings.ts';

/** The text of the call that multiplies; undefined where there is none. */
export function findForkBomb({ invocations, pipelines, functions }: Findings): string | undefined {
  // `$0 | $0 &` in a script that starts itself.
  for (const { stages } of pipelines) {
    const own = stages
      .flat()
      .filter(({ args }) => args[0]?.guesses.some((name) => /(?:^|\/)\$0$/.test(name)));
    if (own.length > 1 && own.some(({ isBackground }) => isBackground)) return own[0]?.text;
  }
  const bodies = new Map<string, Invocation[]>();
  for (const invocation of invocations) {
    const owner = invocation.isGuess ? undefined : invocation.inFunction;
    if (owner !== undefined && functions.has(nameOf(invocation)))
      bodies.set(owner, [...(bodies.get(owner) ?? []), invocation]);
  }
  for (const [name, calls] of bodies) {
    const again = calls.filter((call) => leadsTo(nameOf(call), name, bodies, new Set()));
    const piped = again.filter(
      ({ pipeline }) =>
        pipeline !== undefined &&
        pipeline.stages.filter((stage) => stage.some((each) => again.includes(each))).length > 1,
    );
    if (piped.length > 1 || (again.length > 1 && again.some(({ isBackground }) => isBackground)))
      return again[0]?.text;
  }
  return undefined;
}

function nameOf({ args }: Invocation): string {
  return args[0]?.value ?? '';
}

function leadsTo(
  from: string,
  to: string,
  bodies: ReadonlyMap<string, readonly Invocation[]>,
  seen: Set<string>,
): boolean {
  if (from === to) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  return (bodies.get(from) ?? []).some((call) => leadsTo(nameOf(call), to, bodies, seen));
}
