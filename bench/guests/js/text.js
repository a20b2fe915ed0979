// The text guest in JavaScript. The driver calls these with the input and writes
// what they return. count wants a string; echo an ArrayBuffer, as no interpreter
// has to decode and encode UTF-8 for it.

function count(text) {
  let words = 0, vowels = 0, inside = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const space = c === 32 || (c >= 9 && c <= 13);
    if (!space && !inside) words++;
    inside = !space;
    switch (c | 0x20) {
      case 97: case 101: case 105: case 111: case 117: vowels++;
    }
  }
  return JSON.stringify({ bytes: text.length, words, vowels });
}

function echo(bytes) {
  return bytes;
}
