/** The same as escapes-settings.test.ts, with a server that runs as root. */
import { describeSettings } from '../e2e/escapes/settings.ts';

describeSettings('root');
