/** The modules a tool may use; app.ts builds them. */
import type { Clock } from '../base/clock.ts';
import type { Settings } from '../base/settings.ts';
import type { Executions } from '../executions/executions.ts';
import type { Outputs } from '../outputs/outputs.ts';
import type { SearchThread } from '../outputs/views.ts';
import type { Security } from '../security/security.ts';
import type { Terminals } from '../terminals/terminals.ts';
import type { LastLooks } from './last-looks.ts';

export interface Modules {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly outputs: Outputs;
  readonly searchThread: SearchThread;
  readonly security: Security;
  readonly executions: Executions;
  readonly terminals: Terminals;
  readonly lastLooks: LastLooks;
}
