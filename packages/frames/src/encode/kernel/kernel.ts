import { KERNEL_CODE } from './generated/kernel-code.ts';
import { MAX_POWER, MIN_POWER, SLACK_BYTES } from './kernel-layout.ts';

/** The part of WebAssembly used here: TypeScript has its types only in the browser library. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: KernelExports };
};

/** The exports of the kernel; see kernel/index.ts. */
interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  powersPointer(): number;
  freePointer(): number;
  position(): number;
  isBroken(): number;
  writeRows(
    column: number,
    first: number,
    last: number,
    out: number,
    room: number,
    cellBytes: number,
    ends: number,
  ): number;
}

/** The output area. */
export interface Room {
  readonly out: number;
  readonly bytes: number;
  /** The maximum bytes of a cell, except for its texts and items. */
  readonly cellBytes: number;
  /** The address for the end of each cell, relative to `out`; 0 for none. */
  readonly ends: number;
}

/** The outcome of a write. */
export interface Written {
  /** The first row that was not written. */
  readonly row: number;
  readonly bytes: number;
}

/**
 * The kernel writes cells in WebAssembly, several times as fast as JavaScript. It reads columns from its memory and
 * writes there. The memory is a bump allocator, freed all at once.
 */
export interface Kernel {
  /** The owner of the loaded rows. A cursor that finds another owner must load its rows again. */
  owner: object | undefined;
  /** The whole memory. An allocation can replace this array. */
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  /** Allocates memory with slack after it, without clearing it. */
  allocate(bytes: number): number;
  /** Allocates `bytes` bytes, and fills them with the values and then with zeros. Default: the length of the values. */
  put(values: Uint8Array, bytes?: number): number;
  /** Frees all `act` allocated. */
  scoped<T>(act: () => T): T;
  /** Frees everything. */
  clear(): void;
  /** All allocated bytes. If they are put first into another kernel, they have the same addresses there. */
  readonly used: Uint8Array;
  /** Writes the cells of a column, given by the address of its descriptor, up to `last` or until space runs out. */
  write(column: number, first: number, last: number, room: Room): Written;
}

const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;
/** WebAssembly memory cannot shrink. A kernel grown beyond this by a long row is discarded. */
const KEPT_BYTES = 16 * 1024 * 1024;

let code: { readonly module: object; readonly powers: BigUint64Array } | undefined;
let kernel: Kernel | undefined;

/**
 * Returns the kernel of this thread. One suffices for all results, as its memory need not outlive a turn of the event
 * loop: a cursor finds its rows still loaded if no other used the kernel.
 */
export function useKernel(): Kernel {
  if (kernel === undefined || kernel.bytes.length > KEPT_BYTES) kernel = createKernel();
  return kernel;
}

function createKernel(): Kernel {
  code ??= { module: new WebAssembly.Module(Buffer.from(KERNEL_CODE, 'base64')), powers: createPowersOfTen() };
  const { exports } = new WebAssembly.Instance(code.module);
  const { memory } = exports;
  new BigUint64Array(memory.buffer, exports.powersPointer(), code.powers.length).set(code.powers);
  const start = align(exports.freePointer());
  let top = start;
  let bytes = new Uint8Array(memory.buffer);
  let words = new Int32Array(memory.buffer);

  function allocate(size: number): number {
    const pointer = top;
    top = align(pointer + size + SLACK_BYTES);
    if (top > bytes.length) {
      memory.grow(Math.ceil((top - bytes.length) / PAGE_BYTES));
      bytes = new Uint8Array(memory.buffer);
      words = new Int32Array(memory.buffer);
    }
    return pointer;
  }

  return {
    owner: undefined,
    get bytes() {
      return bytes;
    },
    get words() {
      return words;
    },
    allocate,
    put(values, size = values.length) {
      const pointer = allocate(size);
      bytes.set(values, pointer);
      // Missing bytes must not expose what another owner left here.
      if (values.length < size) bytes.fill(0, pointer + values.length, pointer + size);
      return pointer;
    },
    scoped(act) {
      const before = top;
      const result = act();
      top = before;
      return result;
    },
    clear() {
      top = start;
    },
    get used() {
      return bytes.subarray(start, top);
    },
    write(column, first, last, room) {
      const row = exports.writeRows(column, first, last, room.out, room.bytes, room.cellBytes, room.ends);
      if (exports.isBroken()) throw new RangeError('A value of the frame points outside its buffer.');
      return { row, bytes: exports.position() - room.out };
    },
  };
}

function align(pointer: number): number {
  return Math.ceil(pointer / ALIGNMENT) * ALIGNMENT;
}

const BITS = 128;

/** Creates the powers of ten the kernel needs to print floats: 128 bits each, normalized and rounded up. */
function createPowersOfTen(): BigUint64Array {
  const words = new BigUint64Array(2 * (MAX_POWER - MIN_POWER + 1));
  function set(exponent: number, power: bigint): void {
    const i = 2 * (exponent - MIN_POWER);
    words[i] = BigInt.asUintN(64, power);
    words[i + 1] = power >> 64n;
  }
  let power = 1n;
  for (let exponent = 0; exponent <= Math.max(MAX_POWER, -MIN_POWER); exponent++, power *= 10n) {
    // Exact: no product up to here is so close to a whole number that rounding could reach it.
    const bits = Math.floor(exponent * Math.log2(10)) + 1;
    if (exponent <= MAX_POWER) set(exponent, scaled(power, bits));
    if (exponent > 0 && -exponent >= MIN_POWER) set(-exponent, (1n << BigInt(BITS - 1 + bits)) / power + 1n);
  }
  return words;
}

function scaled(power: bigint, bits: number): bigint {
  return bits <= BITS ? power << BigInt(BITS - bits) : (power >> BigInt(bits - BITS)) + 1n;
}
