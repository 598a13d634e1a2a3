// Tasks of people in the console, as data: the task, the role, and each step from the page that a sign-in opens. A walk performs
// one in a browser and counts the mouse clicks: choosing from a list takes two, typing none.

import type { Locator, Page } from 'playwright-core'

type Role = 'button' | 'link' | 'checkbox'

/** A step. `within` is a part of the page, as CSS; if absent, the whole page. */
export type Step =
  | { click: Role; name: string | RegExp; within?: string }
  /** Clicks an element found by CSS, if it has no name. */
  | { clickAt: string }
  | { fill: string; with: string; within?: string }
  | { choose: string; option: string; within?: string }
  | { press: string }
  | { type: string }
  /** Must be visible at the end. */
  | { see: string | RegExp; within?: string }

export interface Job {
  job: string
  steps: readonly Step[]
}

/** Maximum number of clicks per task. */
export const MAX_CLICKS = 4

/** Performs a task, and returns its clicks. */
export async function walk(page: Page, { steps }: Job, settled: () => Promise<void>): Promise<number> {
  let clicks = 0
  for (const step of steps) {
    const place = 'within' in step && step.within ? page.locator(step.within) : page
    if ('click' in step) await named(place, step).first().click()
    else if ('clickAt' in step) await page.locator(step.clickAt).first().click()
    else if ('fill' in step) await field(place, step.fill).fill(step.with)
    else if ('choose' in step) await place.getByLabel(step.choose).first().selectOption(step.option)
    else if ('press' in step) await page.keyboard.press(step.press)
    else if ('type' in step) await page.keyboard.type(step.type)
    else await place.getByText(step.see).first().waitFor()
    clicks += 'choose' in step ? 2 : 'click' in step || 'clickAt' in step ? 1 : 0
    await settled()
  }
  return clicks
}

function named(place: Page | Locator, { click, name }: { click: Role; name: string | RegExp }): Locator {
  return place.getByRole(click, { name, exact: typeof name === 'string' })
}

function field(place: Page | Locator, label: string): Locator {
  return place.getByLabel(label, { exact: true }).first()
}
