// The theme, light or dark: that of the system, or the one chosen in this browser.

import { effect, signal } from '@preact/signals'

export const THEMES = ['auto', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEPT_AS = 'gateway-console-theme'

export const theme = signal<Theme>(kept())

effect(() => {
  document.documentElement.dataset.theme = theme.value
  try {
    localStorage.setItem(KEPT_AS, theme.value)
  } catch {
    // A browser that stores nothing uses the theme of the system the next time.
  }
})

function kept(): Theme {
  try {
    return THEMES.find((word) => word === localStorage.getItem(KEPT_AS)) ?? 'auto'
  } catch {
    return 'auto'
  }
}
