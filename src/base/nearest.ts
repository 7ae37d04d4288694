/** "Did you mean": the candidate nearest to what was typed, if it is near enough to be a slip. */
export function nearest(typed: string, candidates: Iterable<string>): string | undefined {
  return nearestFew(typed, candidates, 1)[0];
}

/** A hint in these words; empty where nothing is near. */
export function didYouMean(
  typed: string,
  candidates: Iterable<string>,
  say: (meant: string) => string,
): string {
  const meant = nearest(typed, candidates);
  return meant === undefined ? '' : say(meant);
}

/** The few nearest candidates, best first. */
export function nearestFew(typed: string, candidates: Iterable<string>, count: number): string[] {
  const wanted = typed.toLowerCase();
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  const scored: { candidate: string; distance: number }[] = [];
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) > limit) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance <= limit) scored.push({ candidate, distance });
  }
  scored.sort((a, b) => a.distance - b.distance || a.candidate.localeCompare(b.candidate));
  return scored.slice(0, count).map((entry) => entry.candidate);
}

/** Edit distance in which swapping two neighbours ("gti" for "git") counts as one slip. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
