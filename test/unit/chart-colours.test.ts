// Colours of series by their names: the same everywhere, distinct within a chart, and visible on light and dark pages.

import { expect, test } from 'bun:test'
import catalogue from '../../gateway.config'
import { colourOf, looksOf } from '../../src/console/charts/colours'

const models = Object.keys(catalogue.models)
/** The page colours in light and dark, from tokens.css. */
const [, ...PAPERS] =
  /--paper: light-dark\((#\w{6}), (#\w{6})\)/.exec(
    await Bun.file(`${import.meta.dir}/../../src/console/styles/tokens.css`).text(),
  ) ?? []

/** Relative luminance: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance. */
function luminanceOf(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [most = 0, least = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => b - a)
  return (most + 0.05) / (least + 0.05)
}

const names = Array.from({ length: 2_000 }, (_, index) => `model-${index}`)
const colours = [...new Set(names.map(colourOf))]

test('a name has the same colour next to any other names and in any order', () => {
  expect(models.length).toBeGreaterThan(20)
  const alone = models.map((title) => looksOf([{ title }])[0]?.colour ?? '')
  expect(looksOf(models.map((title) => ({ title }))).map(({ colour }) => colour)).toEqual(alone)
  const reversed = looksOf(models.toReversed().map((title) => ({ title })))
  expect(reversed.map(({ colour }) => colour).toReversed()).toEqual(alone)
})

test('two series of a chart never look the same', () => {
  for (let from = 0; from + 40 <= names.length; from += 40) {
    const looks = looksOf(names.slice(from, from + 40).map((title) => ({ title })))
    expect(new Set(looks.map(({ colour, stripes }) => `${colour} ${stripes}`)).size).toBe(40)
  }
})

test('most charts of five models of the catalogue need no stripes', () => {
  let striped = 0
  for (let from = 0; from < models.length; from++) {
    const five = Array.from({ length: 5 }, (_, index) => models[(from + index * 7) % models.length] ?? '')
    if (looksOf(five.map((title) => ({ title }))).some(({ stripes }) => stripes > 0)) striped++
  }
  expect(striped / models.length).toBeLessThan(0.4)
})

test('every colour has a contrast of 3:1 to the page in the light and the dark theme', () => {
  expect(colours.length).toBe(36)
  for (const colour of colours) {
    const own = colour.match(/#\w{6}/g) ?? []
    expect(own.length).toBe(2)
    for (const [index, paper] of PAPERS.entries())
      expect(contrast(own[index] ?? '', paper)).toBeGreaterThan(3)
  }
})

test('a series with a fixed colour keeps it, and the sum of other series gets no model colour', () => {
  const looks = looksOf([{ title: 'failed', colour: 'var(--bad)' }, { title: 'others' }])
  expect(looks.map(({ colour }) => colour)).toEqual(['var(--bad)', 'var(--strong-line)'])
})
