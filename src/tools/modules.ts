/** The modules a tool may use; app.ts builds them. */
import type { Settings } from '../base/settings.ts';
import type { Outputs } from '../outputs/types.ts';

export interface Modules {
  readonly settings: Settings;
  readonly outputs: Outputs;
}
