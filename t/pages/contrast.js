// The visible texts of a page whose contrast with their background is below 4.5 (WCAG 2, section 1.4.3).
const channels = (color) => color.match(/[\d.]+/g).map(Number);
const luminance = ([red, green, blue]) => [red, green, blue].map((channel) => channel / 255)
    .map((channel) => channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4)
    .reduce((sum, channel, i) => sum + channel * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
    const color = channels(getComputedStyle(element).backgroundColor);
    return color[3] === 0 ? behind(element.parentElement) : color;
};
const texts = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility()
    && (element.matches('input, select') || [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim())));
if (texts.length < 20) throw new Error(`only ${texts.length} texts are visible`);
return texts.map((element) => {
    const [dark, light] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))].sort((a, b) => a - b);
    return [(light + 0.05) / (dark + 0.05), element.id || element.textContent];
}).filter(([contrast]) => contrast < 4.5).map((low) => low.join(' ')).join('\n');
