/** True where a command leaves something running with "&" and does not wait for it. */
export function leavesRunning(command: string): boolean {
  const unquoted = command
    .replaceAll(/<<-?\s*['"]?(\w+)['"]?[\s\S]*?\n\s*\1\b/g, '')
    .replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"|\\./g, '')
    .replaceAll(/\(\([\s\S]*?\)\)|(?:^|\s)#.*$/gm, '');
  return /(?:^|[^&>|<;])&(?![&>|])/.test(unquoted) && !/\bwait\b/.test(unquoted);
}
