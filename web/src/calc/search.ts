// Search text → predicate on names. A bad regular expression matches nothing
// and says so; plain text is matched without case.

export interface Matcher {
  active: boolean;
  error: string | null;
  test(name: string): boolean;
}

export function matcher(text: string, regex: boolean): Matcher {
  if (!text) return { active: false, error: null, test: () => false };
  if (!regex) {
    const wanted = text.toLowerCase();
    return { active: true, error: null, test: (name) => name.toLowerCase().includes(wanted) };
  }
  try {
    const expression = new RegExp(text, "i");
    return { active: true, error: null, test: (name) => expression.test(name) };
  } catch (error) {
    return { active: true, error: String((error as Error).message), test: () => false };
  }
}
