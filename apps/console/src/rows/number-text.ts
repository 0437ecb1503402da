/** Returns the shortest digits that read back as the same double. */
export function doubleText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

const MIN_NORMAL_FLOAT = 2 ** -126;

/** Returns the shortest digits that read back as the same 32-bit float. */
export function floatText(value: number): string {
  const isExact = Number.isInteger(value) && Math.abs(value) < 2 ** 24;
  if (isExact || !Number.isFinite(value)) return doubleText(value);
  // Six digits of a normal float always survive, so shorter texts are those of six without the zeros.
  for (let digits = Math.abs(value) < MIN_NORMAL_FLOAT ? 1 : 6; digits < 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return doubleText(rounded);
  }
  return doubleText(Number(value.toPrecision(9)));
}

/** Returns the value of a 16-bit float, from its bits. */
export function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (0x400 + fraction) * 2 ** (exponent - 25);
}

/** Returns a decimal with all digits of its scale. */
export function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return value === 0n ? '0' : `${value}${'0'.repeat(-scale)}`;
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
