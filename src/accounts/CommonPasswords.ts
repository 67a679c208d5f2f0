// Passwords of ten characters and more that head the lists of leaked ones, and their usual endings.

const words = (
  "password passw0rd qwertyuiop qwerty123 qwertyuio 1q2w3e4r5t 1qaz2wsx3edc iloveyou administrator welcome letmein " +
  "sunshine princess football baseball superman michael jennifer jordan23 charlie liverpool chelsea barcelona " +
  "computer internet starwars pokemon trustno1 dragon master shadow monkey changeme default secret parlance " +
  "abcdefghij abcd1234 abc123456 asdfghjkl zxcvbnm qazwsxedc q1w2e3r4t5 123qweasd manchester butterfly whatever " +
  "summer winter spring autumn january february october november december monday friday"
).split(" ")

const endings = [
  ..."0 1 12 123 1234 12345 123456 1234567 12345678 123456789 ! !! 1! 123! 1234! @123 @1234 #1 # 00 01 007 69 99".split(
    " ",
  ),
  ...Array.from({ length: 60 }, (_, index) => String(1970 + index)),
  "",
]

const plain =
  ("1234567890 0123456789 0987654321 9876543210 12345678910 123456789a 123456789q 1234567891 1234554321 1212121212 " +
    "1122334455 0000000000 1111111111 987654321a a123456789 q123456789 123456789abc qwertyuiop[] 1q2w3e4r5t6y " +
    "1qaz2wsx3edc4rfv zaq12wsxcde3 qwerty12345 asdfghjkl; asdfghjkl1 zxcvbnm123 passwordpassword adminadmin rootroot12 " +
    "administrator1 iloveyou12 iloveyou123 letmeinplease correcthorsebatterystaple thisisapassword mypassword " +
    "mypassword1 newpassword yourpassword temppassword testpassword testtest12 test123456 user123456 admin12345 " +
    "admin123456 guest12345 welcome123 welcome2024 welcome2025 welcome2026 football12 blink182182 1029384756 " +
    "5555555555 6666666666 7777777777 8888888888 9999999999 3141592653 1357924680 2468013579 147258369a 1478963250 " +
    "741852963a aaaaaaaaaa abcabcabca qweqweqweq asdasdasda qwerty1234 qwertyuiopas poiuytrewq mnbvcxzlkj").split(" ")

/** Lowercase passwords that are refused. */
export const common: ReadonlySet<string> = new Set([
  ...plain,
  ...words.flatMap((word) => endings.map((ending) => `${word}${ending}`)),
].filter(({ length }) => length >= 10))
