import { MAX_POWER, MIN_POWER } from './kernel-layout.ts';

const BITS = 128;

/** Creates the powers of ten that the kernel needs to print floats: 128 bits each, normalized and rounded up. */
export function createPowersOfTen(): BigUint64Array {
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
