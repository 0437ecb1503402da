import { MAX_POWER, MIN_POWER } from './kernel-layout.ts';

const BITS = 128;

/** Creates the powers of ten that the kernel needs to print floats: 128 bits each, normalized and rounded up. */
export function createPowersOfTen(): BigUint64Array {
  const words = new BigUint64Array(2 * (MAX_POWER - MIN_POWER + 1));
  for (let exponent = MIN_POWER; exponent <= MAX_POWER; exponent++) {
    const power = scaledPower(exponent);
    const i = 2 * (exponent - MIN_POWER);
    words[i] = BigInt.asUintN(64, power);
    words[i + 1] = power >> 64n;
  }
  return words;
}

function scaledPower(exponent: number): bigint {
  const power = 10n ** BigInt(Math.abs(exponent));
  const bits = power.toString(2).length;
  if (exponent < 0) return (1n << BigInt(BITS - 1 + bits)) / power + 1n;
  return bits <= BITS ? power << BigInt(BITS - bits) : (power >> BigInt(bits - BITS)) + 1n;
}
