import { KERNEL_CODE } from './generated/kernel-code.ts';
import { SLACK_BYTES } from './kernel-layout.ts';
import { createPowersOfTen } from './powers-of-ten.ts';

/** What is used here of WebAssembly, whose types TypeScript has only together with those of browsers. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: KernelExports };
};

/** What the kernel exports; see kernel/index.ts. */
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

/** Where written cells go. */
export interface Room {
  readonly out: number;
  readonly bytes: number;
  /** The most bytes a cell takes beside its texts and items. */
  readonly cellBytes: number;
  /** Where the end of each cell is put, counted from `out`; 0 for nowhere. */
  readonly ends: number;
}

/** What came of writing cells. */
export interface Written {
  /** The first row that is not written. */
  readonly row: number;
  readonly bytes: number;
}

/**
 * The kernel writes cells in WebAssembly, several times as fast as JavaScript does. It reads columns from its own memory
 * and writes there; the memory is given out from the start to the end and taken back all at once.
 */
export interface Kernel {
  /** Whose rows are in the memory. Whoever finds someone else here has to load its own again. */
  owner: object | undefined;
  /** All of the memory. Giving out more of it can replace this array. */
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  /** Gives out memory, with slack behind it; what is in it is left from before. */
  allocate(bytes: number): number;
  /** Gives out memory for so many bytes, filled with these values and then with zeros. Default: as many as they have. */
  put(values: Uint8Array, bytes?: number): number;
  /** Takes back what `act` made to be given out. */
  scoped<T>(act: () => T): T;
  /** Takes back everything. */
  clear(): void;
  /** All that is given out: put first into another kernel's memory, it is at the same place there. */
  readonly used: Uint8Array;
  /** Writes the cells of a column, given by the place of its description, until `last` or the room ends. */
  write(column: number, first: number, last: number, room: Room): Written;
}

const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;
/** Memory does not shrink. A kernel that one long row has made larger than this is left behind. */
const KEPT_BYTES = 16 * 1024 * 1024;

let code: { readonly module: object; readonly powers: BigUint64Array } | undefined;
let kernel: Kernel | undefined;

/**
 * The kernel of this thread. One is enough for all answers, as nothing in it has to last longer than a turn of the event
 * loop: who comes back finds its rows there if nobody else was.
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
      // What is missing must not be what someone else has left here.
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
      if (exports.isBroken()) throw new RangeError('A value of the frame leads outside of its buffer.');
      return { row, bytes: exports.position() - room.out };
    },
  };
}

function align(pointer: number): number {
  return Math.ceil(pointer / ALIGNMENT) * ALIGNMENT;
}
