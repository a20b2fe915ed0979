// Asks npm's semver what it makes of our own constraints and versions, and
// writes the answers to npm.json. Only for adding questions:
//
//	npm install --prefix /tmp/ask semver && NODE_PATH=/tmp/ask/node_modules node ask.js > npm.json
const semver = require('semver')

const versions = `
0.0.0-0 0.0.0-alpha 0.0.0 0.0.1-0 0.0.1 0.0.2 0.0.3-rc.1 0.0.3 0.0.4 0.1.0-beta.2 0.1.0 0.1.1 0.2.0-0 0.2.0 0.2.3-rc.1
0.2.3 0.2.9 0.3.0-0 0.3.0 0.9.9 1.0.0-0 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11
1.0.0-rc.1 1.0.0 1.0.1-rc.1 1.0.1 1.1.0-rc.1 1.1.0 1.2.0-0 1.2.0-rc.1 1.2.0 1.2.2 1.2.3-0 1.2.3-alpha 1.2.3-alpha.0
1.2.3-alpha.7 1.2.3-beta 1.2.3 1.2.4-alpha 1.2.4 1.2.99 1.3.0-0 1.3.0-alpha 1.3.0 1.4.0 1.9.9 2.0.0-0 2.0.0-alpha
2.0.0-rc.1 2.0.0 2.0.1-rc.1 2.0.1 2.1.0 2.2.9 3.0.0-rc.1 3.0.0 10.0.0 10.20.30-rc.1 10.20.30
9007199254740990.0.0 9007199254740991.9007199254740991.9007199254740990
9007199254740991.9007199254740991.9007199254740991-rc.1 9007199254740991.9007199254740991.9007199254740991`.trim().split(/\s+/)

const partials = `1 0 x * 1.2 0.0 0.2 1.x 1.2.x 1.*.* x.x.x 0.0.0 0.0.3 0.2.3 1.2.3 10.20.30 0.0.3-rc.1 0.2.3-rc.1 1.2.3-alpha
1.2.3-alpha.7 2.0.0-0 1.2.3+build.5 1.2.3-beta+exp.sha v1.2.3 v1.2 9007199254740991.0.0 1.9007199254740991.0 1.2.x-rc`.trim().split(/\s+/)

const others = `1.2.3 - 2.0.0;1.2 - 2.0.0;1.2.3 - 2;0 - 1.2;* - 1.2.3;1.2.3 - *;* - *;1.2.3-alpha - 2.0.0-rc.1;v1.2.3 - v2.0.0
1.2.3 - 1.2.3;2.0.0 - 1.0.0;1.2.3 - 9007199254740991.9007199254740991.9007199254740991; ;||;1.2.3 ||;^1 || ^3;~1.2.3||2.x
<1.2.3 || >2.0.0;1.2.3 || 1.3.0 || 2;>=1.2.3 <2;>1.0.0 <1.0.1;>1.0.0 <1.0.0;>2 <1;>=1.0.0 <=1.0.0;1.0.0 2.0.0;* 1.2.3
>=0.0.0;>=0.0.0 <1;>=0.0.0-0;* || 1.2.3-alpha;1.2.3-alpha || *;>=1.2.3-alpha <1.3.0;>1.2.3-alpha <2.0.0-rc.1;<2.0.0-0
<=2.0.0-0;>1.2.3-beta;^1.2.3-alpha ~1.2.3;>=1.2.3-alpha >=1.2.3-beta;^0.0.3-rc.1 || 0.2;^1.2 ^1.3;~1.2 >1.2.2;^1 <1.3
>= 1.2.3 < 2;^ 1.2.3;~ 1.2;~> 1.2.3;= 1.2.3;  ^1.2.3  ;>=1.2.3	<2;<0.0.0-0;<0.0.0-0 || 1;<0.0.0-0 1.2.3;1.2.3 1.2.3
not a range;1.2.3.4;1.2-rc;^;>;>=;||| 1;1 | 2;>=1.2.3,<2;!=1.2.3;1.2.3 -2.0.0;1.2.3- 2.0.0;x.1;1.x.3;^1.2.3beta;01.2.3;1.02
1.2.3-01;1.2.3-;1.2.3+;1.2.3-a..b;>>1;<>1;=>1;9007199254740992.0.0;^9007199254740991.0.0;latest;^1.2.3^2;1..2;-1.2.3`.split(/[;\n]/)

const signs = ['', '=', '>', '>=', '<', '<=', '^', '~', '~>']
const texts = signs.flatMap(s => partials.map(p => s + p)).concat(others)

// Allows has one character for each version: + when it is allowed.
const answer = (text, includePrerelease) => {
  const canonical = semver.validRange(text, { includePrerelease })
  if (canonical === null) return null
  return { canonical, allows: versions.map(v => semver.satisfies(v, text, { includePrerelease }) ? '+' : '.').join('') }
}

const rows = [...new Set(texts)].map(text => ({ text, plain: answer(text, false), prereleases: answer(text, true) }))
const line = o => JSON.stringify(o)
console.log(`{
"origin": "answers of npm/node-semver (ISC licence) to questions of this project: see ask.js",
"versions": ${line(versions)},
"ranges": [
${rows.map(line).join(',\n')}
]}`)
