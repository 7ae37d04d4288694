export function withStableShapes(text: string, path: string): string;
