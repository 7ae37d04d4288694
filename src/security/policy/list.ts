/** `list('a b')`: tables of words stay readable, one row a line. */
export function list(text: string): readonly string[] {
  return text.split(' ');
}
