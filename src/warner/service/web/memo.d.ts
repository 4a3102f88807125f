import type { Design } from "./warner.js";

/**
 * The memo of one person under a memoized design: give it to `randomize` in the place of the design. Every report then
 * starts from the same permanent response to an answer, the one that `Memo.from_secret` in Python derives as well.
 *
 * All reports of an unchanged answer spend at most the epsilon of `first` together. Each other answer spends it again,
 * against histories with the same pattern of equal and different answers (under hashing, of hash values); that an answer
 * changed, when, and that an earlier one came back is not protected.
 * @param json What `JSON.parse` made of the file of a memoized design.
 * @param secret 32 random bytes of this person, kept on this person's device and sent nowhere.
 * @throws TypeError if the design is not memoized, or the secret is no Uint8Array of 32 bytes.
 */
export function memo(json: unknown, secret: Uint8Array): Promise<Design>;
