(* The exponential of a matrix of real numbers, by its series: what it has to do with products, transposes and negatives.

   Rows and columns are numbered by several indices each.  The series converges since its terms are at most those of the
   exponential of a number.  exp(M) exp(-M) = I is shown along exp(tM) exp(-tM), which has the derivative 0. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Functions Calculus Inverses.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Open Scope classical_set_scope.

Section Exponential.
Variable R : realType.
Implicit Types (f g h M N A : seq nat -> seq nat -> R) (ns ms : seq nat).

Definition product_over ns f g (xs ys : seq nat) : R := total ns (fun zs => f xs zs * g zs ys).
Definition same_index (xs ys : seq nat) : R := (xs == ys)%:R.
Fixpoint nth_power ns f (n : nat) : seq nat -> seq nat -> R := match n with
  | 0 => same_index | n'.+1 => product_over ns f (nth_power ns f n') end.
Definition exponential_of ns f (xs ys : seq nat) : R := lim (series (fun n => nth_power ns f n xs ys / n`!%:R)).

(* ------------------------------------------------------------------------------------------------------------ products *)

Lemma product_places ns f g xs ys : product_over ns f g xs ys = \sum_(zs <- places ns) f xs zs * g zs ys.
Proof. exact: total_places. Qed.
Lemma product_eq ns f f' g g' xs ys : (forall zs, within ns zs -> f xs zs = f' xs zs) ->
  (forall zs, within ns zs -> g zs ys = g' zs ys) -> product_over ns f g xs ys = product_over ns f' g' xs ys.
Proof. by move=> F G; apply: total_within => zs w; rewrite F ?G. Qed.
Lemma product_assoc ns ms f g h xs ys :
  product_over ns f (product_over ms g h) xs ys = product_over ms (product_over ns f g) h xs ys.
Proof.
rewrite !product_places; under eq_bigr => zs _ do rewrite product_places mulr_sumr.
rewrite exchange_big; apply: eq_bigr => us _; rewrite product_places mulr_suml.
by apply: eq_bigr => zs _; rewrite mulrA.
Qed.
Lemma same_product ns g xs ys : within ns xs -> product_over ns same_index g xs ys = g xs ys.
Proof.
move=> w; rewrite product_places (bigD1_seq xs) ?mem_places ?places_uniq //= /same_index eqxx mul1r big1 ?addr0 // => zs.
by rewrite eq_sym => /negPf ->; rewrite mul0r.
Qed.
Lemma product_same ns g xs ys : within ns ys -> product_over ns g same_index xs ys = g xs ys.
Proof.
move=> w; rewrite product_places (bigD1_seq ys) ?mem_places ?places_uniq //= /same_index eqxx mulr1 big1 ?addr0 // => zs.
by move=> /negPf ->; rewrite mulr0.
Qed.

Section Intertwined.
Variables (ns ms : seq nat) (M N A : seq nat -> seq nat -> R).
Hypothesis commute : forall xs ys, within ns xs -> within ms ys -> product_over ns M A xs ys = product_over ms A N xs ys.
Lemma powers_intertwined n xs ys : within ns xs -> within ms ys ->
  product_over ns (nth_power ns M n) A xs ys = product_over ms A (nth_power ms N n) xs ys.
Proof.
elim: n xs ys => [|n IH] xs ys wx wy; first by rewrite same_product // product_same.
rewrite -[LHS]product_assoc (@product_eq _ _ M _ (product_over ms A (nth_power ms N n))) // => [|zs w]; last exact: IH.
rewrite product_assoc (@product_eq _ _ (product_over ms A N) _ (nth_power ms N n)) // => [|zs w]; last exact: commute.
by rewrite -product_assoc.
Qed.
End Intertwined.
Lemma power_right ns f n xs ys : within ns xs -> within ns ys ->
  nth_power ns f n.+1 xs ys = product_over ns (nth_power ns f n) f xs ys.
Proof. by move=> wx wy; rewrite (@powers_intertwined ns ns f f f). Qed.
Lemma power_transposed ns f g : (forall xs ys, within ns xs -> within ns ys -> g xs ys = f ys xs) ->
  forall n xs ys, within ns xs -> within ns ys -> nth_power ns g n xs ys = nth_power ns f n ys xs.
Proof.
move=> T; elim=> [|n IH] xs ys wx wy; first by rewrite /= /same_index eq_sym.
rewrite power_right // /= /product_over; apply: total_within => zs w.
by rewrite T // IH // mulrC.
Qed.
Lemma power_negative ns f g : (forall xs ys, within ns xs -> within ns ys -> g xs ys = - f xs ys) ->
  forall n xs ys, within ns xs -> within ns ys -> nth_power ns g n xs ys = (-1) ^+ n * nth_power ns f n xs ys.
Proof.
move=> G; elim=> [|n IH] xs ys wx wy; first by rewrite expr0 mul1r.
rewrite /= !product_places mulr_sumr !big_seq; apply: eq_bigr => zs; rewrite mem_places => w.
by rewrite G // IH // exprS mulN1r !mulNr mulrCA.
Qed.

(* --------------------------------------------------------------------------------------------------------- convergence *)

Lemma power_bound ns f c : (forall xs ys, `|f xs ys| <= c) ->
  forall n xs ys, `|nth_power ns f n xs ys| <= ((size (places ns))%:R * c) ^+ n.
Proof.
move=> F; have c0 : 0 <= c := le_trans (normr_ge0 _) (F [::] [::]).
elim=> [|n IH] xs ys; first by rewrite expr0 /= /same_index; case: (_ == _); rewrite ?normr1 ?normr0 ?ler01.
rewrite [nth_power _ _ _ _ _]/= product_places; apply: le_trans (ler_norm_sum _ _ _) _.
apply: (@le_trans _ _ (\sum_(zs <- places ns) c * ((size (places ns))%:R * c) ^+ n)).
  by apply: ler_sum => zs _; rewrite normrM; apply: ler_pmul.
by rewrite big_const_seq count_predT iter_addr_0 -mulr_natl exprS mulrA.
Qed.
(* the coefficients of exp(tf) and of its derivatives *)
Definition coefficient ns f (j : nat) xs ys (n : nat) : R := nth_power ns f (n + j) xs ys / n`!%:R.
Definition bounded f := exists c, forall xs ys, `|f xs ys| <= c.
Lemma coefficient_cvg ns f j xs ys t : bounded f -> cvg (pseries (coefficient ns f j xs ys) t).
Proof.
case=> c F; have [b [b0 B]] : exists b, 0 <= b /\ forall n us vs, `|nth_power ns f n us vs| <= b ^+ n.
  exists ((size (places ns))%:R * c); split; last exact: power_bound.
  by rewrite mulr_ge0 ?ler0n // (le_trans (normr_ge0 _) (F [::] [::])).
apply: normed_cvg; apply: (@series_le_cvg _ _ (b ^+ j *: exp_coeff (b * `|t|))) => [n|n|n|].
- exact: normr_ge0.
- by rewrite /= /GRing.scale /= mulr_ge0 ?exprn_ge0 // divr_ge0 ?ler0n // exprn_ge0 // mulr_ge0.
- have -> : (b ^+ j *: exp_coeff (b * `|t|)) n = b ^+ (n + j) / n`!%:R * `|t| ^+ n.
    rewrite -[LHS]/(b ^+ j * ((b * `|t|) ^+ n / n`!%:R)) exprD exprMn -!mulrA. by rewrite mulrCA [_^-1 * _]mulrC.
  rewrite -[X in X <= _]/(`|coefficient ns f j xs ys n * t ^+ n|) /coefficient !normrM normrX normfV normr_nat.
  apply: ler_pmul => //; rewrite ?exprn_ge0 ?mulr_ge0 ?invr_ge0 ?ler0n //.
  by apply: ler_pmul => //; rewrite ?invr_ge0 ?ler0n.
exact/is_cvg_seriesZ/is_cvg_series_exp_coeff.
Qed.

Lemma sum_cvg (s : seq (seq nat)) (a : seq nat -> R) (u : seq nat -> nat -> R) : (forall zs, cvg (u zs)) ->
  (fun n => \sum_(zs <- s) a zs * u zs n) --> \sum_(zs <- s) a zs * lim (u zs).
Proof.
move=> C; elim: s => [|zs s IH].
  rewrite big_nil (_ : (fun n => _) = fun=> 0); first exact: cvg_cst.
  by apply/funext => n; rewrite big_nil.
rewrite big_cons (_ : (fun n => _) = fun n => a zs * u zs n + \sum_(ws <- s) a ws * u ws n).
  by apply: cvgD => //; apply: cvgMr; exact: C.
by apply/funext => n; rewrite big_cons.
Qed.
Lemma sum_lim (s : seq (seq nat)) (a : seq nat -> R) (c : seq nat -> nat -> R) t : (forall zs, cvg (pseries (c zs) t)) ->
  lim (pseries (fun n => \sum_(zs <- s) a zs * c zs n) t) = \sum_(zs <- s) a zs * lim (pseries (c zs) t).
Proof.
move=> C; apply/cvg_lim => //; have := @sum_cvg s a (fun zs => pseries (c zs) t) C.
rewrite (_ : (fun n => _) = pseries (fun n => \sum_(zs <- s) a zs * c zs n) t) //.
apply/funext => m; rewrite /pseries /series /=.
under eq_bigr => zs _ do rewrite mulr_sumr.
rewrite exchange_big; apply: eq_bigr => n _; rewrite mulr_suml.
by apply: eq_bigr => zs _; rewrite mulrA.
Qed.

(* the j-th derivative of exp(tf) in t *)
Definition along ns f (j : nat) (t : R) xs ys : R := lim (pseries (coefficient ns f j xs ys) t).
Lemma exponential_along ns f : exponential_of ns f = along ns f 0 1.
Proof.
apply/funext => xs; apply/funext => ys; congr (lim _); apply/funext => m.
by apply: eq_bigr => n _ /=; rewrite /coefficient addn0 expr1n mulr1.
Qed.
Lemma along_slope ns f j xs ys t : bounded f -> is_derive t (1 : R) (fun t => along ns f j t xs ys) (along ns f j.+1 t xs ys).
Proof.
have next i : pseries_diffs (coefficient ns f i xs ys) = coefficient ns f i.+1 xs ys.
  apply/funext => n; rewrite /pseries_diffs /coefficient addSnnS factS natrM invfM mulrCA; congr (_ * _).
  by rewrite mulrA divff ?mul1r ?pnatr_eq0.
move=> B; rewrite /along -next; apply: (@pseries_snd_diffs _ _ (`|t| + 1)); rewrite ?next; try exact: coefficient_cvg.
by rewrite [X in _ < X]ger0_norm ?addr_ge0 // ltr_addl.
Qed.
Lemma along_left ns f j t xs ys : bounded f -> along ns f j.+1 t xs ys = product_over ns f (along ns f j t) xs ys.
Proof.
move=> B; rewrite product_places -sum_lim; last by move=> zs; exact: coefficient_cvg.
congr (lim (pseries _ _)); apply/funext => n; rewrite /coefficient addnS /= product_places mulr_suml.
by apply: eq_bigr => zs _; rewrite mulrA.
Qed.
Lemma along_right ns f j t xs ys : bounded f -> within ns xs -> within ns ys ->
  along ns f j.+1 t xs ys = product_over ns (along ns f j t) f xs ys.
Proof.
move=> B wx wy; rewrite product_places; under eq_bigr => zs _ do rewrite mulrC.
rewrite -sum_lim; last by move=> zs; exact: coefficient_cvg.
congr (lim (pseries _ _)); apply/funext => n; rewrite /coefficient addnS power_right // product_places mulr_suml.
by apply: eq_bigr => zs _; rewrite -mulrA [RHS]mulrCA.
Qed.
Lemma along_start ns f xs ys : along ns f 0 0 xs ys = same_index xs ys.
Proof.
apply/cvg_lim => //; rewrite -(@cvg_shiftS _ (pseries _ _)) (_ : (fun n => _) = fun=> same_index xs ys); first exact: cvg_cst.
apply/funext => n; rewrite /pseries /series /= big_nat_recl // expr0 mulr1 /coefficient add0n fact0 divr1 big1 ?addr0 //.
by move=> i _; rewrite expr0n mulr0.
Qed.

(* --------------------------------------------------------------------------------------------------------- what is known *)

Theorem exponential_intertwined ns ms M N A : bounded M -> bounded N ->
  (forall xs ys, within ns xs -> within ms ys -> product_over ns M A xs ys = product_over ms A N xs ys) ->
  forall xs ys, within ns xs -> within ms ys ->
  product_over ns (exponential_of ns M) A xs ys = product_over ms A (exponential_of ms N) xs ys.
Proof.
move=> BM BN C xs ys wx wy; rewrite !exponential_along !product_places.
under eq_bigr => zs _ do rewrite mulrC.
rewrite -!sum_lim; try by move=> zs; exact: coefficient_cvg.
congr (lim (pseries _ _)); apply/funext => n; rewrite /coefficient !addn0.
transitivity (product_over ns (nth_power ns M n) A xs ys / n`!%:R).
  by rewrite product_places mulr_suml; apply: eq_bigr => zs _; rewrite mulrA [A _ _ * _]mulrC.
rewrite (powers_intertwined C) // product_places mulr_suml.
by apply: eq_bigr => zs _; rewrite mulrA.
Qed.
Theorem exponential_transposed ns f g : (forall xs ys, within ns xs -> within ns ys -> g xs ys = f ys xs) ->
  forall xs ys, within ns xs -> within ns ys -> exponential_of ns g xs ys = exponential_of ns f ys xs.
Proof.
move=> T xs ys wx wy; congr (lim (series _)); apply/funext => n.
by rewrite (power_transposed T).
Qed.
Theorem exponential_fixes ns M (v : seq nat -> R) : bounded M ->
  (forall xs, within ns xs -> total ns (fun zs => M xs zs * v zs) = 0) ->
  forall xs, within ns xs -> total ns (fun zs => exponential_of ns M xs zs * v zs) = v xs.
Proof.
move=> B Z xs wx; pose none : seq nat -> seq nat -> R := fun _ _ => 0.
have Bn : bounded none by exists 0 => us vs; rewrite normr0.
have C us ws : within ns us -> within [::] ws ->
    product_over ns M (fun zs _ => v zs) us ws = product_over [::] (fun zs _ => v zs) none us ws.
  by move=> wu _; rewrite {1}/product_over Z // /product_over /= mulr0.
have := exponential_intertwined B Bn C wx (erefl : within [::] [::]); rewrite {1}/product_over => ->.
rewrite /product_over /= (_ : exponential_of [::] none [::] [::] = 1) ?mulr1 //.
apply/cvg_lim => //; rewrite -(@cvg_shiftS _ (series _)) (_ : (fun n => _) = fun=> same_index [::] [::]); first exact: cvg_cst.
apply/funext => n; rewrite /series /= big_nat_recl // big1 ?addr0; first by rewrite /same_index eqxx fact0 divr1.
by move=> i _; rewrite /= /product_over /none /= !mul0r.
Qed.
Theorem exponential_opposite ns M N : bounded M ->
  (forall xs ys, within ns xs -> within ns ys -> N xs ys = - M xs ys) ->
  forall xs ys, within ns xs -> within ns ys ->
  product_over ns (exponential_of ns M) (exponential_of ns N) xs ys = (xs == ys)%:R.
Proof.
move=> B O xs ys wx wy; pose back t zs := along ns M 0 (0 + t * -1) zs ys.
pose both t := total ns (fun zs => along ns M 0 t xs zs * back t zs).
have turned zs : within ns zs -> exponential_of ns N zs ys = back 1 zs.
  move=> w; rewrite /back add0r mul1r /along; congr (lim _); apply/funext => m; apply: eq_bigr => n _.
  by rewrite /= /coefficient addn0 (power_negative O) // -mulrA mulrC.
transitivity (both 1).
  by rewrite exponential_along; apply: total_within => zs w; rewrite turned.
have slope t : slope_at both t 0.
  have H : slope_at both t (total ns (fun zs => along ns M 1 t xs zs * back t zs
      + along ns M 0 t xs zs * (along ns M 1 (0 + t * -1) zs ys * -1))).
    apply: slope_total => zs w; apply: slope_mul; first exact: along_slope.
    have line : slope_at (fun t => 0 + t * -1 : R) t (-1) by exact: slope_line.
    exact: (@is_derive1_comp R (fun u => along ns M 0 u zs ys) (fun t => 0 + t * -1) t _ _ (along_slope ns 0 zs ys (0 + t * -1) B) line).
  apply: (slope_as H); rewrite total_places big_split /= -!total_places.
  under [X in _ + X]total_within => zs w do rewrite mulrN1 mulrN.
  rewrite [X in _ + X]total_places sumrN -total_places; apply/eqP; rewrite subr_eq0; apply/eqP.
  transitivity (product_over ns (product_over ns (along ns M 0 t) M) (along ns M 0 (0 + t * -1)) xs ys).
    by apply: total_within => zs w; rewrite along_right.
  rewrite -product_assoc; apply: total_within => zs w.
  by rewrite along_left.
rewrite (is_derive_0_is_cst 1 0 slope) /both /back mul0r addr0.
under total_within => zs w do rewrite !along_start.
exact: same_product.
Qed.
End Exponential.
