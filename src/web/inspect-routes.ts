/** What the page says about rules and settings, as the commands of those names do; made when it is first asked for. */
import type { App } from '../app.ts';
import type { LoadedSettings } from '../base/config/config.ts';
import { listSettings, type ShownSetting } from '../commands/config/show-settings.ts';
import { examine, type Finding } from '../commands/doctor.ts';
import type { Machine } from '../commands/install/clients.ts';
import {
  createExplain,
  type Explain,
  type Explained,
  type ExplainOptions,
} from '../commands/policy-explain.ts';

export interface Inspect {
  explain(command: string, options: ExplainOptions): Promise<Explained>;
  settings(): readonly ShownSetting[];
  doctor(): Promise<readonly Finding[]>;
  dispose(): Promise<void>;
}

export interface InspectOptions {
  /** A server of our own that runs nothing. */
  openApp(): Promise<App>;
  readonly loaded: LoadedSettings;
  readonly machine: Machine;
  readonly cwd: string;
}

export function createInspect({ openApp, loaded, machine, cwd }: InspectOptions): Inspect {
  let opened: Promise<{ readonly app: App; readonly explain: Explain }> | undefined;
  const open = (): NonNullable<typeof opened> => {
    opened ??= openApp().then((app) => ({ app, explain: createExplain(app, loaded.settings) }));
    return opened;
  };
  return {
    explain: async (command, options) => (await open()).explain(command, options),
    settings: () => listSettings(loaded, cwd),
    async doctor() {
      const { app } = await open();
      return examine(app, loaded.settings, { warnings: [...loaded.warnings, ...app.warnings], machine });
    },
    async dispose() {
      if (opened !== undefined) await (await opened).app.dispose();
    },
  };
}
