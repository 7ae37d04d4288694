/** The same as escapes-settings.test.ts, with a server that runs as root. */
import { describeSettings } from './escapes/settings.ts';

describeSettings('root');
