/** What the page says about rules and settings, as the commands of those names do; made when it is first asked for. */
import type { App } from '../app.ts';
import type { LoadedSettings } from '../base/config/config.ts';
import { listSettings } from '../commands/config/show-settings.ts';
import { examine, type Finding } from '../commands/doctor.ts';
import type { Machine } from '../commands/install/clients.ts';
import { createExplain, type Explain, type ExplainOptions } from '../commands/policy-explain.ts';

export type Inspect = ReturnType<typeof createInspect>;

export interface InspectOptions {
  /** A server of our own that runs nothing. */
  openApp(): Promise<App>;
  readonly loaded: LoadedSettings;
  readonly machine: Machine;
  readonly cwd: string;
}

export function createInspect({ openApp, loaded, machine, cwd }: InspectOptions) {
  let opened: Promise<{ readonly app: App; readonly explain: Explain }> | undefined;
  const open = (): NonNullable<typeof opened> => {
    opened ??= openApp().then((app) => ({ app, explain: createExplain(app, loaded.settings) }));
    return opened;
  };
  return {
    explain: async (command: string, options: ExplainOptions) => (await open()).explain(command, options),
    settings: () => listSettings(loaded, cwd),
    async doctor(): Promise<readonly Finding[]> {
      const { app } = await open();
      return examine(app, loaded.settings, { warnings: [...loaded.warnings, ...app.warnings], machine });
    },
    async dispose(): Promise<void> {
      if (opened !== undefined) await (await opened).app.dispose();
    },
  };
}
