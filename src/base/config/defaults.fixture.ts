/** The settings of a server for which nothing was set. */
import type { Settings } from '../settings.ts';
import { loadSettings } from './config.ts';

export function defaultSettings(cwd: string): Settings {
  return loadSettings({ flags: {}, environment: {}, cwd, homedir: cwd }).settings;
}
