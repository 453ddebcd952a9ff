"""Characters that look like one of ASCII, though no normalisation makes them one.

From Unicode's data for security mechanisms (UTS #39, confusables, version 15.1), narrowed to those
that look like a single ASCII character, and less what ordinary writing is made of: quotation marks
and dashes of prose, accents, Kana and Han. Unicode's data: (c) Unicode, Inc., terms at
https://www.unicode.org/copyright.html
"""

from typing import Final

SIGNS: Final = frozenset(
    "\u02c2\u02c3\u02c4\u02c6\u02d0\u02d7\u02db\u02dc\u02f4\u02f8\u2010\u2011\u2012\u201a\u201b"
    "\u2035\u2039\u203a\u2041\u2043\u2044\u204e\u2053\u205a\u2212\u2215\u2216\u2217\u2223\u2236"
    "\u223c\u22ff\u2373\u2374\u237a\u23fd\u2571\u2768\u2769\u276e\u276f\u2772\u2773\u2774\u2775"
    "\u27cb\u27cd\u27d9\u292b\u292c\u29f5\u29f8\u29f9\u2a2f\u2e40\ua4f8\ua4f9\ua4fd\ua4ff\ua60e"
    "\ua789\ufd3e\ufd3f\ufe58\U0001f74c\U0001f768\u0196\u01c0\u01c3\u0251\u0261\u0263\u0269\u026a"
    "\u026f\u028b\u028f\u0294\u1d04\u1d0f\u1d11\u1d1c\u1d20\u1d21\u1d22\u1d83\u1d8c\ua731\ua75a"
    "\ua76a\ua76e\ua778\ua78c\ua798\ua799\ua79f\ua7ab\ua7b2\ua7b3\ua7b4\uab32\uab35\uab3d\uab47"
    "\uab48\uab4e\uab52\uab5a"
)
"""Signs, and letters of phonetic alphabets, that stand for themselves in hardly any text."""

TWINS: Final = frozenset(
    "\u037f\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b3\u03b9\u03bd\u03bf\u03c1\u03c3\u03c5\u03d2\u03dc\u03e8\u03f1\u03f2\u03f3\u03f9"
    "\u03fa\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c\u041d\u041e\u0420\u0421\u0422"
    "\u0423\u0425\u042c\u0430\u0431\u0433\u0435\u043a\u043e\u0440\u0441\u0443\u0445\u0455\u0456"
    "\u0458\u0461\u0474\u0475\u04ae\u04af\u04ba\u04bb\u04bd\u04c0\u04cf\u04e0\u0501\u050c\u051b"
    "\u051c\u051d\u054d\u054f\u0555\u0561\u0563\u0566\u0570\u0578\u057c\u057d\u0581\u0584\u0585"
    "\u10e7\u10ff\u13a0\u13a1\u13a2\u13a5\u13a9\u13aa\u13ab\u13ac\u13ae\u13b3\u13b7\u13bb\u13bd"
    "\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9\u13da\u13de\u13df\u13e2\u13e6\u13e7"
    "\u13ee\u13f3\u13f4\u142f\u1433\u1438\u144a\u144c\u146d\u146f\u1472\u148d\u14aa\u14bf\u1541"
    "\u157c\u157d\u1587\u15af\u15b4\u15c5\u15de\u15ea\u15f0\u15f7\u16b2\u16b7\u16c1\u16cc\u16d5"
    "\u16d6\u1d26\u1fbe\u2c85\u2c8e\u2c92\u2c94\u2c98\u2c9a\u2c9e\u2c9f\u2ca2\u2ca3\u2ca4\u2ca5"
    "\u2ca6\u2ca8\u2cac\u2cba\u2cc6\u2cca\u2ccc\u2cd0\u2cd2\u2d38\u2d39\u2d4f\u2d51\u2d54\u2d55"
    "\u2d5d\ua4d0\ua4d1\ua4d2\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df\ua4e0\ua4e1"
    "\ua4e2\ua4e3\ua4e6\ua4e7\ua4ea\ua4eb\ua4ec\ua4ee\ua4f0\ua4f2\ua4f3\ua4f4\ua644\ua647\ua6df"
    "\uab75\uab81\uab83\uab93\uaba9\uabaa\uabaf\U00010282\U00010286\U00010287\U0001028a\U00010290"
    "\U00010292\U00010295\U00010296\U00010297\U0001029b\U000102a0\U000102a1\U000102a2\U000102a5"
    "\U000102ab\U000102b0\U000102b1\U000102b2\U000102b4\U000102cf\U00010301\U00010302\U00010309"
    "\U00010311\U00010315\U00010317\U0001031a\U0001031f\U00010404\U00010415\U0001041b\U00010420"
    "\U0001042c\U0001043d\U00010448\U000104b4\U000104c2\U000104ce\U000104d2\U000104ea\U000104f6"
    "\U00010513\U00010516\U00010518\U0001051c\U0001051d\U00010525\U00010526\U00010527\U000118a0"
    "\U000118a2\U000118a3\U000118a4\U000118a6\U000118a9\U000118ac\U000118ae\U000118af\U000118b2"
    "\U000118b5\U000118b8\U000118bb\U000118bc\U000118c0\U000118c1\U000118c2\U000118c3\U000118c4"
    "\U000118c6\U000118c8\U000118ca\U000118cc\U000118d5\U000118d6\U000118d7\U000118d8\U000118dc"
    "\U00016f08\U00016f0a\U00016f16\U00016f28\U00016f35\U00016f3a\U00016f3b\U00016f3f\U00016f40"
    "\U00016f42\U00016f43"
)
"""Letters of other alphabets that look like Latin ones: a word of nothing else is suspicious."""

OTHERS: Final = frozenset(
    "\u06f0\u06f1\u06f5\u06f7\u0966\u097d\u09e6\u09ea\u09ed\u0a66\u0a67\u0a6a\u0ae6\u0b20\u0b66"
    "\u0b68\u0be6\u0c66\u0ce6\u0d20\u0d66\u0d6d\u0e50\u0ed0\u101d\u1040\u1200\u12d0\ua6eb\ua6ef"
    "\U000114d0\U00011706\U0001170a\U0001170e\U0001170f\U000118e0\U000118e5\U000118e6\U000118e9"
)
"""Letters and digits that look like ASCII ones: suspicious in a word with Latin letters."""
