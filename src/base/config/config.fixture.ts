/** A home, a project and their settings files, on a real disk, for the tests of this folder. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ShellServerError } from '../errors.ts';
import { type LoadedSettings, loadSettings, type SettingsInput } from './config.ts';

export const PROJECT_FILE = 'home/project/mcp-shell-server.toml';
export const USER_FILE = 'home/.config/mcp-shell-server/mcp-shell-server.toml';

export function createPlace() {
  // macOS has its temporary directory behind a link.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'config-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, 'home');
  const project = join(home, 'project');
  mkdirSync(project, { recursive: true });

  const load = (input: Partial<SettingsInput> = {}): LoadedSettings =>
    loadSettings({ flags: {}, environment: {}, cwd: project, homedir: home, platform: 'linux', ...input });
  return {
    root,
    home,
    project,
    /** Writes a file below the root, with its directories. */
    write(path: string, text: string | Uint8Array): string {
      const full = join(root, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text);
      return full;
    },
    makeDirectory(path: string): string {
      const full = join(root, path);
      mkdirSync(full, { recursive: true });
      return full;
    },
    link(path: string, target: string): void {
      symlinkSync(target, join(root, path));
    },
    load,
    /** The sentences of the SYSTEM_003 that loading ends in. */
    mistakes(input?: Partial<SettingsInput>): readonly string[] {
      try {
        load(input);
      } catch (error) {
        if (!(error instanceof ShellServerError) || error.code !== 'SYSTEM_003') throw error;
        const { mistakes } = error.details ?? {};
        return Array.isArray(mistakes) ? mistakes.map(String) : [];
      }
      return [];
    },
  };
}
