import type { Command, Program } from '../args/command.ts';
import { backup, restore } from './backup.ts';
import { completion } from './completion.ts';
import { config } from './config.ts';
import { convert } from './convert.ts';
import { doctor } from './doctor.ts';
import { describe, drop, list } from './frames.ts';
import { get } from './get.ts';
import { ping } from './ping.ts';
import { put } from './put.ts';
import { query } from './query.ts';
import { serve } from './serve.ts';
import { token } from './token.ts';

/** All commands, in the order of the help. */
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
  backup,
  restore,
  token,
  config,
  doctor,
  completion,
];
