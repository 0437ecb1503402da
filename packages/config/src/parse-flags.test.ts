import { describe, expect, test } from 'vitest';
import { type FlagSpec, parseFlags } from './index.ts';

const FLAGS: ReadonlyMap<string, FlagSpec> = new Map<string, FlagSpec>([
  ['output', { takesValue: true, short: 'o' }],
  ['param', { takesValue: true, isRepeatable: true }],
  ['force', { takesValue: false, short: 'f' }],
  ['help', { takesValue: false, short: 'h', isRepeatable: true }],
]);

const output = (value: string, rawName = '--output') => ({ kind: 'value', name: 'output', rawName, value });
const param = (value: string) => ({ kind: 'value', name: 'param', rawName: '--param', value });
const force = (rawName = '--force') => ({ kind: 'switch', name: 'force', rawName });
const help = (rawName = '--help') => ({ kind: 'switch', name: 'help', rawName });
const argument = (value: string) => ({ kind: 'argument', value });
const unknown = (rawName: string) => ({ kind: 'unknown', rawName });

describe('a command line', () => {
  test.each([
    [[], []],
    [
      ['a', '', '-'],
      [argument('a'), argument(''), argument('-')],
    ],
    [
      ['--output', 'x', 'a'],
      [output('x'), argument('a')],
    ],
    [['--output=x'], [output('x')]],
    [['--output='], [output('')]],
    [['--output=a=b'], [output('a=b')]],
    [['--output', ''], [output('')]],
    [['--output', '-'], [output('-')]],
    [['--output', '-1'], [output('-1')]],
    [['--output', '-.5'], [output('-.5')]],
    [['--output=-x'], [output('-x')]],
    [['-o', 'x'], [output('x', '-o')]],
    [['-ox'], [output('x', '-o')]],
    [['-o=x'], [output('=x', '-o')]],
    [['-fh'], [force('-f'), help('-h')]],
    [['-fox'], [force('-f'), output('x', '-o')]],
    [
      ['--help', '-h'],
      [help(), help('-h')],
    ],
    [
      ['--param', '1', '--param=2'],
      [param('1'), param('2')],
    ],
    [
      ['--', '--force', '--'],
      [{ kind: 'terminator' }, argument('--force'), argument('--')],
    ],
  ])('%j', (argv, tokens) => {
    expect(parseFlags(argv, FLAGS)).toEqual(tokens);
  });

  test.each([
    [['--output'], [{ kind: 'missing_value', name: 'output', rawName: '--output' }]],
    [['-o'], [{ kind: 'missing_value', name: 'output', rawName: '-o' }]],
    [
      ['--output', '--force'],
      [{ kind: 'missing_value', name: 'output', rawName: '--output' }, force()],
    ],
    [
      ['--output', '--output', 'x'],
      [{ kind: 'missing_value', name: 'output', rawName: '--output' }, output('x')],
    ],
    [
      ['--force=yes', 'a'],
      [{ kind: 'unwanted_value', name: 'force', rawName: '--force' }, argument('a')],
    ],
    [['-f=yes'], [{ kind: 'unwanted_value', name: 'force', rawName: '-f' }]],
    [
      ['-o', 'x', '--output=y', 'a'],
      [output('x', '-o'), { kind: 'repeated', name: 'output', rawName: '--output' }, argument('a')],
    ],
    [['-ff'], [force('-f'), { kind: 'repeated', name: 'force', rawName: '-f' }]],
    [
      ['--nope', 'secret', 'a'],
      [unknown('--nope'), argument('a')],
    ],
    [['--nope=secret'], [unknown('--nope')]],
    [
      ['--nope', '--force'],
      [unknown('--nope'), force()],
    ],
    [['-param', 'secret'], [unknown('-param')]],
    [['-fx=secret'], [unknown('-fx')]],
    [['--Output', 'x'], [unknown('--Output')]],
    [['--constructor'], [unknown('--constructor')]],
    [['-1'], [unknown('-1')]],
  ])('%j has a fault, and the rest is read', (argv, tokens) => {
    expect(parseFlags(argv, FLAGS)).toEqual(tokens);
  });
});
