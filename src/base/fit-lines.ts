/** How many of these lines fit, each with its line end. */
export function countFitting(lines: readonly string[], maxBytes: number): number {
  let left = maxBytes;
  const tooMany = lines.findIndex((line) => {
    left -= Buffer.byteLength(line) + 1;
    return left < 0;
  });
  return tooMany === -1 ? lines.length : tooMany;
}
