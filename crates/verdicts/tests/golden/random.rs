//! Random numbers as the golden file's program draws them, so that counts can be compared.

/// SplitMix64. 53 bits make a uniform number, two uniform numbers a normal one (Box and Muller, cosine).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * 2_f64.powi(-53)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    /// Student's t with three degrees of freedom.
    pub(crate) fn t3(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }

    /// An autoregressive series of order 1 with standard deviation `sigma`.
    pub(crate) fn autoregressive(&mut self, length: usize, rho: f64, sigma: f64) -> Vec<f64> {
        let mut x = sigma * self.normal();
        let mut series = Vec::new();
        for _ in 0..length {
            series.push(x);
            x = rho * x + (1.0 - rho * rho).sqrt() * sigma * self.normal();
        }
        series
    }
}
