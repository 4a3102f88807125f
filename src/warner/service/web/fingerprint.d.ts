/**
 * The SHA-256, in hexadecimal, of what `JSON.parse` made of a survey or a design, in one spelling: as `fingerprint` in
 * Python. Browsers compute it in secure contexts only.
 * @throws TypeError for numbers that are not integers within 2^53, and for half a surrogate pair.
 */
export function fingerprint(json: unknown): Promise<string>;
