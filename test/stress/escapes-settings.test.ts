import { describeSettings } from '../e2e/escapes/settings.ts';

describeSettings('ordinary user');
