// A count with its noun, as `1 charge` and `2 charges`. Only nouns whose plural ends in s.

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
