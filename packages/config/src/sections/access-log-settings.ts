import { type Setting, setting } from '../setting.ts';
import { choice, fraction } from '../value-type.ts';

/** The settings of the access log, in the section `logging`. */
export const ACCESS_LOG_SETTINGS = {
  access: setting({
    type: choice(['off', 'errors', 'all']),
    default: 'off',
    description: 'Which requests leave a line in the log: none, those that fail, or all; at any logging.level.',
    example: 'all',
  }),
  access_sample: setting({
    type: fraction,
    default: 1,
    description:
      'The share of successful requests that logging.access = all logs, from 0 to 1; failed ones are always logged.',
    example: 0.01,
  }),
} as const satisfies Record<string, Setting>;
