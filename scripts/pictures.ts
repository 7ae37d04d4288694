/** The pictures of the documents, each from its recording in docs/pictures; scripts/record.ts makes those. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderPicture } from './picture.ts';

/** Name of the recording -> caption. */
const PICTURES = {
  doctor: 'mcp-shell-server doctor',
  agent: 'what an agent calls, and what it reads',
};

export async function renderPictures(root: string): Promise<[path: string, content: string][]> {
  return Promise.all(
    Object.entries(PICTURES).map(async ([name, title]): Promise<[string, string]> => {
      const cast = readFileSync(join(root, `docs/pictures/${name}.cast`), 'utf8');
      return [`docs/pictures/${name}.svg`, await renderPicture(cast, title)];
    }),
  );
}
