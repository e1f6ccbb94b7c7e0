import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/harness/any-character.ts'
import { folded, foldedBeginning, tracedBeginning } from './folding.ts'

const TEXTS: readonly (readonly [script: string, text: string, folded: string])[] = [
  ['Latin', 'Crème Brûlée, ĐÀ NẴNG, Łódź, Ærøskøbing, Þór', 'creme brulee, da nang, lodz, aeroskobing, thor'],
  ['German', 'STRASSE Straße GROẞ Übergröße', 'strasse strasse gross ubergrosse'],
  ['Turkish', 'İstanbul ISPARTA ılık', 'istanbul isparta ilik'],
  ['Greek', 'ΟΔΟΣ ὁδός Ἀθῆναι', 'οδοσ οδοσ αθηναι'],
  ['Cyrillic', 'Ёлка и Йод', 'елка и иод'],
  ['Hebrew', 'שָׁלוֹם', 'שלום'],
  ['Arabic', 'مُحَمَّدـ أحمد', 'محمد احمد'],
  ['Hindi', 'हिन्दी क़लम', 'हिन्दी क़लम'],
  ['Thai', 'น้ำปลา', 'น้ําปลา'],
  ['Chinese', '花园铁锹', '花园铁锹'],
  ['Japanese', 'ｶﾞｰﾃﾞﾝ が', 'ガーデン が'],
  ['Korean', '한국어 ㅎ', '한국어 ᄒ'],
  ['emoji', '👩‍🌾 ⭐', '👩🌾 ⭐'],
  ['ligatures', 'ﬁne oﬀice œuvre Ǆ', 'fine office oeuvre dz'],
  ['full width', 'Ｓｐａｄｅ－１２', 'spade-12'],
  ['symbols', '½ ™ ㎏ №', '1⁄2 tm kg no'],
  ['invisible', 'spa\u00adde\u200b \ufeffsp\u2060ade', 'spade spade'],
]

test('Texts of many scripts are folded', () => {
  expect(TEXTS.map(([script, text]) => [script, folded(text)])).toEqual(TEXTS.map(([script, , form]) => [script, form]))
})

test('A folded text stays as it is: every code point, and random texts', () => {
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const once = folded(String.fromCodePoint(code))
    if (folded(once) !== once) expect({ code, once }).toEqual({ code, once: folded(once) })
  }
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), text => expect(folded(folded(text))).toBe(folded(text))),
    { numRuns: 500 },
  )
})

test('The beginning of a long text is that of the whole folded text, wherever the text is cut', () => {
  const unit = fc.constantFrom(...'a é가ᅡᆨかﾞ゙क़ा\u200d\u0301🌾ÅΣﷺ-花', '\u{16d63}', '\u{16d67}')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (text, max) => {
      const beginning = [...folded(text)].slice(0, max).join('')
      expect(foldedBeginning(text, max)).toBe(beginning)
      expect(tracedBeginning(text, max).text).toBe(beginning)
    }),
    { numRuns: 3_000 },
  )
})

test('Every character that can begin a piece folds by itself', () => {
  const before = ['가', 'か', 'क', 'e', 'a\u0ccc', 'ᄀ', 'ဥ', 'ো', 'ﾊ', 'ΑΣ', '\u{16d67}']
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code)
    // Most code points are not assigned or Han, and take no part in this.
    if (/[\p{Cn}\p{Co}\p{sc=Han}]/u.test(character)) continue
    for (const text of before) {
      const whole = folded(text + character)
      const traced = tracedBeginning(text + character, 1_000).text
      if (traced !== whole) expect({ text, code, traced }).toEqual({ text, code, traced: whole })
    }
  }
})
