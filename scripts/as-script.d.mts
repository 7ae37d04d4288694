export function asScript(text: string, path: string): string;
