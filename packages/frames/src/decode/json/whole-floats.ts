/**
 * Whether a float stands for a whole number: it is exactly that number, or the number is the shortest text that reads
 * back as the float, which is how floats are written. `value` is a float32 if `isSingle`.
 */
export function standsForWhole(value: number, whole: bigint, isSingle: boolean): boolean {
  if (!Number.isFinite(value)) return false;
  return BigInt(value) === whole || wholeOf(isSingle ? shortestSingle(value) : String(value)) === whole;
}

/** The number of significant digits that identify any float32. */
const SINGLE_DIGITS = 9;

function shortestSingle(value: number): string {
  for (let digits = 1; digits < SINGLE_DIGITS; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return text;
  }
  return value.toPrecision(SINGLE_DIGITS);
}

/** Parses a whole number such as `123` or `1.23e+9`. */
function wholeOf(text: string): bigint {
  const [digits, exponent = '0'] = text.split('e');
  const [whole, fraction = ''] = digits.split('.');
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(Number(exponent) - fraction.length);
}
