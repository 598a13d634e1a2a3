// Icons as one sprite: each is a path in a square of 16. An icon never carries meaning alone: there is a word next to it, or a
// label.

const paths = {
  overview: 'M2 13V8m4 5V3m4 10V6m4 7v-3',
  accounts: 'M2 4.5h12v8H2zM2 7h12M5 10h2',
  keys: 'M9.5 6.5a3 3 0 1 1-3 3l-4 4v-2h2v-2h2',
  requests: 'M2 4h9M2 8h12M2 12h7m3-9 2 1-2 1',
  usage: 'M8 2v6l4.5 3M8 2a6 6 0 1 1-4.2 1.7',
  tasks: 'M2.5 4 4 5.5 6.5 2.5M9 4h5M2.5 11 4 12.5 6.5 9.5M9 11h5',
  models: 'M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3',
  upstreams: 'M5 12a3 3 0 0 1 0-6 4 4 0 0 1 7 1 2.5 2.5 0 0 1 0 5zM8 14v-4m-1.5 1.5L8 10l1.5 1.5',
  settings:
    'M2 5h6m4 0h2M2 11h2m4 0h6M10 5m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M6 11m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
  statements: 'M4 2h8v12H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h3',
  plans: 'M2.5 8.5v-6h6l5.5 5.5-6 6zM5.5 5.5h.01',
  codes: 'M2 4h12v3a1.5 1.5 0 0 0 0 3v2.5H2V10a1.5 1.5 0 0 0 0-3zM9.5 4v8.5',
  playground: 'M5 3l8 5-8 5z',
  home: 'M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z',
  connect: 'M6 10l4-4M7 4.5l1-1a3 3 0 0 1 4.5 4.5l-1 1M9 11.5l-1 1A3 3 0 0 1 3.5 8l1-1',
  view: 'M4.5 2.5h7v11L8 10.5l-3.5 3z',
  language: 'M8 2a6 6 0 1 0 .01 0M2 8h12M8 2c-3.5 3-3.5 9 0 12 3.5-3 3.5-9 0-12',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.5-1.5L14 14',
  close: 'M4 4l8 8m0-8-8 8',
  warning: 'M8 2 15 14H1zM8 6.5v3.5m0 2v.01',
  good: 'M3 8.5 6.5 12 13 4.5',
  bad: 'M4.5 4.5l7 7m0-7-7 7',
  wait: 'M8 4v4l2.5 1.5M8 2a6 6 0 1 0 .01 0z',
  pause: 'M5.5 3.5v9m5-9v9',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
