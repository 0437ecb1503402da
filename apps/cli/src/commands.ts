import type { Command, Program } from './command.ts';
import { completion } from './commands/completion.ts';
import { config } from './commands/config.ts';
import { convert } from './commands/convert.ts';
import { describe } from './commands/describe.ts';
import { doctor } from './commands/doctor.ts';
import { drop } from './commands/drop.ts';
import { get } from './commands/get.ts';
import { list } from './commands/list.ts';
import { ping } from './commands/ping.ts';
import { put } from './commands/put.ts';
import { query } from './commands/query.ts';
import { serve } from './commands/serve.ts';

/** The commands there are, in the order of the help. */
export const COMMANDS: readonly (Command | Program)[] = [
  serve,
  ping,
  put,
  get,
  query,
  list,
  describe,
  drop,
  convert,
  config,
  doctor,
  completion,
];
