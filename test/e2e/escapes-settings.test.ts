import { describeSettings } from './escapes/settings.ts';

describeSettings('ordinary user');
