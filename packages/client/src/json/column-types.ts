const NUMERIC = /^(?:BYTE|SHORT|INT|U?LONG|LONG128|FLOAT|DOUBLE|DECIMAL\b.*)$/;
const LONG = /^(?:U?LONG|LONG128)$/;

/** Whether the values of a type are numbers: they are aligned at their right. */
export function isNumericType(type: string): boolean {
  return NUMERIC.test(type);
}

/** Whether the values of a type are integers that a `number` may not hold exactly. */
export function isLongType(type: string): boolean {
  return LONG.test(type);
}
