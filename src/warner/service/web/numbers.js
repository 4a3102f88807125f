// Numbers as people write them, and the nearest answer of a grid: exactly, by whole numbers. MIT.

const DECIMAL = /^(-?\d+)(?:\.(\d+))?$/;
const scaled = ({ units, places }, to) => units * 10n ** BigInt(to - places);

/** A decimal number as a whole number of units, with so many places; null for anything else. */
export function decimal(text) {
  const [, whole, part = ""] = DECIMAL.exec(`${text}`) ?? [];
  return whole === undefined ? null : { units: BigInt(whole + part), places: part.length };
}

/** The same as a text. */
export function decimalText({ units, places }) {
  const digits = `${units < 0n ? -units : units}`.padStart(places + 1, "0");
  const end = digits.length - places;
  return (units < 0n ? "-" : "") + digits.slice(0, end) + (places ? `.${digits.slice(end)}` : "");
}

/** Where labels are numbers that rise by even steps: the first of them, the step, and how many; null elsewhere. */
export function gridOf({ size, step, at }) {
  const first = typeof size === "number" ? decimal(at(0)) : null;
  if (!first) return null;
  if (step) return { units: first.units, step: BigInt(step), places: 0, size };
  const numbers = Array.from({ length: size }, (_, i) => decimal(at(i)));
  if (numbers.includes(null)) return null;
  const places = Math.max(...numbers.slice(0, 2).map((number) => number.places), first.places);
  if (numbers.some((number) => number.places > places)) return null;
  const units = numbers.map((number) => scaled(number, places));
  const apart = units[1] - units[0];
  const even = apart > 0n && units.every((unit, i) => unit === units[0] + BigInt(i) * apart);
  return even ? { units: units[0], step: apart, places, size } : null;
}

/** The number at a place of a grid, or beyond its ends, as a text. */
export const onGrid = ({ units, step, places }, place) => decimalText({ units: units + BigInt(place) * step, places });

/** Position nearest to a number: halves upwards; numbers beyond the ends are moved to them, which is reported. */
export function nearest(grid, number) {
  const places = Math.max(grid.places, number.places);
  const step = scaled({ units: grid.step, places: grid.places }, places);
  const [from, last] = [scaled(number, places) - scaled(grid, places), BigInt(grid.size - 1)];
  const beyond = from < 0n || from > last * step;
  const place = (2n * from + step) / (2n * step); // of what is not beyond, which is at least 0
  return { beyond, place: from < 0n ? 0 : Number(place < last ? place : last) };
}

// Digits of every script: each has its ten in a row.
function westernDigit(digit) {
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(digit.codePointAt(0) - value - 1))) value++;
  return `${value % 10}`;
}

/**
 * Read a number as people write it: with a point or a comma before its decimals, in groups of three as the language has
 * them or with spaces or apostrophes, and in the digits of any script; null for anything else.
 */
export function readNumber(text, languages = ["en"]) {
  const parts = new Intl.NumberFormat(languages, { useGrouping: true }).formatToParts(1234567.8);
  const group = parts.find(({ type }) => type === "group")?.value ?? "";
  const plain = text.trim().normalize("NFKC").replace(/\p{Nd}/gu, westernDigit)
    .replace(/[\u2010-\u2015\u2212]/g, "-").replace(/[\u2019\u066c]/g, "'").replaceAll("\u066b", ".").replace(/^\+/, "");
  const [, sign, rest] = /^(-?) ?([\d ,.']{1,40})$/.exec(plain) ?? [];
  if (rest === undefined) return null;
  for (const mark of [" ", "'", ...(".,".includes(group || " ") ? [group] : [])]) {
    const point = mark === "." ? "," : mark === "," ? "." : ".,";
    const [, whole, part] = new RegExp(`^([1-9]\\d{0,2}(?:[${mark}]\\d{3})+)(?:[${point}](\\d+))?$`).exec(rest) ?? [];
    if (whole) return decimal(`${sign}${whole.replaceAll(mark, "")}${part ? `.${part}` : ""}`);
  }
  return decimal(sign + rest.replace(/^(\d+),(\d+)$/, "$1.$2").replace(/\.$/, ""));
}

export function isPrime(number) {
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false;
  return number > 1;
}
