(* The real derivative of an inverse matrix, d(M^-1) = - M^-1 dM M^-1, and that a matrix keeps its inverse near a point.

   Rows and columns are numbered by several indices each.  All of their values in one list make them a matrix of mathcomp,
   whose inverse is the adjugate over the determinant: sums of products of entries. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zmodp matrix perm.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Functions Calculus.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Open Scope classical_set_scope.

(* ------------------------------------------------------------------------------------------------- values of indices *)

Fixpoint places (ns : seq nat) : seq (seq nat) := match ns with
  | [::] => [:: [::]] | n :: ns' => [seq x :: xs | x <- index_iota 0 n, xs <- places ns'] end.
Lemma mem_places ns xs : (xs \in places ns) = within ns xs.
Proof.
elim: ns xs => [|n ns IH] [|x xs] //=; first by apply/allpairsP => -[[y ys] /= [_ _]].
apply/allpairsP/andP => [[[y ys] /= [yn yp [-> ->]]]|[xn w]].
  by rewrite mem_index_iota in yn; rewrite -IH.
by exists (x, xs); rewrite mem_index_iota IH.
Qed.
Lemma places_uniq ns : uniq (places ns).
Proof.
elim: ns => [|n ns IH] //=; apply: allpairs_uniq => //; first exact: iota_uniq.
by move=> [x xs] [y ys] _ _ /= [-> ->].
Qed.

Lemma within_cat ns ms xs ys : within ns xs -> within ms ys -> within (ns ++ ms) (xs ++ ys).
Proof. by elim: ns xs => [|n ns IH] [|x xs] //= /andP[-> w] v; exact: IH. Qed.
Lemma within_split ns ms xs : within (ns ++ ms) xs -> within ns (take (size ns) xs) /\ within ms (drop (size ns) xs).
Proof.
elim: ns xs => [|n ns IH] xs; first by rewrite take0 drop0.
by case: xs => [|x xs] //= /andP[-> /IH].
Qed.

Section Inverse.
Variable R : realType.
Implicit Types (f N : seq nat -> R).

Lemma total_places ns f : total ns f = \sum_(xs <- places ns) f xs.
Proof.
elim: ns f => [|n ns IH] f /=; first by rewrite big_seq1.
by rewrite big_allpairs_dep; apply: eq_bigr => x _; exact: IH.
Qed.
Lemma total_cat ns ms f : total (ns ++ ms) f = total ns (fun xs => total ms (fun ys => f (xs ++ ys))).
Proof. by elim: ns f => [|n ns IH] f //=; apply: eq_bigr => x _; exact: IH. Qed.
Lemma total_within ns f g : (forall xs, within ns xs -> f xs = g xs) -> total ns f = total ns g.
Proof. by move=> E; rewrite !total_places; apply: eq_big_seq => xs; rewrite mem_places => /E. Qed.

(* a matrix whose rows and columns have indices of the sizes ns *)
Variable ns : seq nat.
Local Notation P := (places ns).
Local Notation n := (size P).
Local Notation place := (nth [::] P).
Lemma place_within (i : 'I_n) : within ns (place i). Proof. by rewrite -mem_places mem_nth. Qed.
Definition position xs (w : within ns xs) : 'I_n := Ordinal (etrans (index_mem xs P) (etrans (mem_places ns xs) w)).
Lemma place_position xs (w : within ns xs) : place (position w) = xs.
Proof. by rewrite /= nth_index // mem_places. Qed.
Lemma place_eq (i j : 'I_n) : (place i == place j) = (i == j).
Proof. by rewrite nth_uniq // places_uniq. Qed.
Lemma total_sum f : total ns f = \sum_(i < n) f (place i).
Proof. by rewrite total_places (big_nth [::]) big_mkord. Qed.
Definition as_matrix f : 'M[R]_n := \matrix_(i, j) f (place i ++ place j).

Local Notation k := (size ns).
Local Notation both := (ns ++ ns).
Lemma cut_matrix f : as_matrix (cut both f) = as_matrix f.
Proof. by apply/matrixP => i j; rewrite !mxE /cut within_cat ?place_within. Qed.
Lemma take_both : take k both = ns. Proof. exact: take_size_cat. Qed.
Lemma is_inverse_matrix f N : is_inverse k both f N <->
  as_matrix f *m as_matrix N = 1%:M /\ as_matrix N *m as_matrix f = 1%:M.
Proof.
have mul g h (i j : 'I_n) : (as_matrix g *m as_matrix h) i j = total ns (fun zs => g (place i ++ zs) * h (zs ++ place j)).
  by rewrite total_sum mxE; apply: eq_bigr => l _; rewrite !mxE.
rewrite /is_inverse take_both; split=> [H|[H1 H2] xs ys wx wy].
  split; apply/matrixP => i j; rewrite mul; have [a b] := H _ _ (place_within i) (place_within j).
    by rewrite a mxE place_eq.
  by rewrite b mxE place_eq.
have e : (xs == ys) = (position wx == position wy) by rewrite -place_eq !place_position.
rewrite e -[in LHS](place_position wx) -[in LHS](place_position wy).
have := mul f N (position wx) (position wy); have := mul N f (position wx) (position wy).
by rewrite H1 H2 !mxE !place_position => <- <-.
Qed.
Lemma invertible_matrix f : (exists N, is_inverse k both f N) <-> as_matrix f \in unitmx.
Proof.
split=> [[N /is_inverse_matrix [H _]]|u]; first by have [] := mulmx1_unit H.
pose N zs := if within ns (take k zs) =P true is ReflectT w then
  if within ns (drop k zs) =P true is ReflectT v then invmx (as_matrix f) (position w) (position v) else 0 else 0.
exists N; apply/is_inverse_matrix.
suff -> : as_matrix N = invmx (as_matrix f) by rewrite mulmxV // mulVmx.
apply/matrixP => i j; rewrite mxE /N.
have s : size (place i) = k by exact: within_size (place_within i).
case: eqP => [w|]; last by rewrite take_size_cat // place_within.
case: eqP => [v|]; last by rewrite drop_size_cat // place_within.
by congr (invmx _ _ _); apply/eqP; rewrite -place_eq place_position ?take_size_cat ?drop_size_cat.
Qed.
Lemma inverse_matrix f : as_matrix f \in unitmx -> as_matrix (inverse k both f) = invmx (as_matrix f).
Proof.
move=> u; have /xgetPex : exists N, is_inverse k both f N by apply/invertible_matrix.
move=> /(_ (fun=> 0)) /is_inverse_matrix [H _]; rewrite -/(inverse k both f) in H.
by rewrite -[RHS]mulmx1 -H mulmxA mulVmx // mul1mx.
Qed.

(* ------------------------------------------------------------------------------------- determinants have derivatives *)

Variable x : R.
Definition has_slope (f : R -> R) := exists a, slope_at f x a.
Lemma has_slope_add (f g : R -> R) : has_slope f -> has_slope g -> has_slope (fun t => f t + g t).
Proof. by move=> [a A] [b B]; exists (a + b); exact: slope_add. Qed.
Lemma has_slope_mul (f g : R -> R) : has_slope f -> has_slope g -> has_slope (fun t => f t * g t).
Proof. by move=> [a A] [b B]; eexists; exact: slope_mul A B. Qed.
Lemma has_slope_sum (I : Type) (r : seq I) (F : I -> R -> R) : (forall i, has_slope (F i)) ->
  has_slope (fun t => \sum_(i <- r) F i t).
Proof.
move=> H; elim: r => [|i r IH]; first by exists 0; apply: slope_constant => t; rewrite !big_nil.
rewrite (_ : (fun t => _) = fun t => F i t + \sum_(j <- r) F j t); first exact: has_slope_add.
by apply/funext => t; rewrite big_cons.
Qed.
Lemma has_slope_prod (I : Type) (r : seq I) (F : I -> R -> R) : (forall i, has_slope (F i)) ->
  has_slope (fun t => \prod_(i <- r) F i t).
Proof.
move=> H; elim: r => [|i r IH]; first by exists 0; apply: slope_constant => t; rewrite !big_nil.
rewrite (_ : (fun t => _) = fun t => F i t * \prod_(j <- r) F j t); first exact: has_slope_mul.
by apply/funext => t; rewrite big_cons.
Qed.
Lemma has_slope_det m (M : R -> 'M[R]_m) : (forall i j, has_slope (fun t => M t i j)) -> has_slope (fun t => \det (M t)).
Proof.
move=> H; apply: has_slope_sum => s; apply: has_slope_mul; last exact: has_slope_prod.
by exists 0; exact: slope_constant.
Qed.
Lemma has_slope_adj m (M : R -> 'M[R]_m) i j : (forall i j, has_slope (fun t => M t i j)) -> has_slope (fun t => (\adj (M t)) i j).
Proof.
move=> H; rewrite (_ : (fun t => _) = fun t => (-1) ^+ (j + i) * \det (row' j (col' i (M t)))); last first.
  by apply/funext => t; rewrite mxE.
apply: has_slope_mul; first by exists 0; exact: slope_constant.
apply: has_slope_det => a b; rewrite (_ : (fun t => _) = fun t => M t (lift j a) (lift i b)) //.
by apply/funext => t; rewrite !mxE.
Qed.
Lemma near_unit m (M : R -> 'M[R]_m) : (forall i j, has_slope (fun t => M t i j)) -> M x \in unitmx ->
  \forall t \near x, M t \in unitmx.
Proof.
move=> H; rewrite unitmxE unitfE => u; have [a A] := has_slope_det H.
by apply: filterS (near_nonzero A u) => t; rewrite unitmxE unitfE.
Qed.
Lemma has_slope_invmx m (M : R -> 'M[R]_m) i j : (forall i j, has_slope (fun t => M t i j)) -> M x \in unitmx ->
  has_slope (fun t => invmx (M t) i j).
Proof.
move=> H u; have near := near_unit H u.
have : has_slope (fun t => (\det (M t))^-1 * (\adj (M t)) i j).
  apply: has_slope_mul; last exact: has_slope_adj.
  have [a A] := has_slope_det H; eexists; apply: slope_reciprocal A.
  by move: u; rewrite unitmxE unitfE.
move=> [a A]; exists a; apply: slope_near A; apply: filterS near => t ut.
by rewrite /invmx ut [RHS]mxE.
Qed.
(* the product of a matrix with its inverse is constant, so that its derivative is 0 *)
Lemma slope_invmx m (M : R -> 'M[R]_m) (dM : 'M[R]_m) i j : (forall i j, slope_at (fun t => M t i j) x (dM i j)) ->
  M x \in unitmx -> slope_at (fun t => invmx (M t) i j) x ((- (invmx (M x) *m dM *m invmx (M x))) i j).
Proof.
move=> D u; have H i' j' : has_slope (fun t => M t i' j') by exists (dM i' j').
pose dN : 'M[R]_m := \matrix_(i, j) 'D_1 (fun t => invmx (M t) i j : R) x.
have DN i' j' : slope_at (fun t => invmx (M t) i' j') x (dN i' j').
  by have [a A] := has_slope_invmx i' j' H u; rewrite mxE -(slope_value A).
suff -> : - (invmx (M x) *m dM *m invmx (M x)) = dN by [].
have zero : dN *m M x + invmx (M x) *m dM = 0.
  apply/matrixP => a b; rewrite !mxE -big_split /=.
  have S : slope_at (fun t => \sum_(l < m) invmx (M t) a l * M t l b) x (\sum_(l < m) (dN a l * M x l b + invmx (M x) a l * dM l b)).
    elim: (index_enum _) => [|l r IH]; first by rewrite big_nil; apply: slope_constant => t; rewrite !big_nil.
    rewrite big_cons; apply: (slope_same (f := fun t => invmx (M t) a l * M t l b + \sum_(l <- r) invmx (M t) a l * M t l b)).
      by move=> t; rewrite big_cons.
    by apply: slope_add => //; exact: slope_mul.
  have C : slope_at (fun t => \sum_(l < m) invmx (M t) a l * M t l b) x 0.
    apply: slope_near (slope_of_constant ((1%:M : 'M[R]_m) a b) x).
    apply: filterS (near_unit H u) => t ut; rewrite -(mulVmx ut) mxE; exact: eq_bigr.
  exact: slope_unique S C.
move/eqP: zero; rewrite addr_eq0 => /eqP zero.
by rewrite -mulNmx -zero -mulmxA mulmxV // mulmx1.
Qed.

Variables (A : R -> seq nat -> R) (dA : seq nat -> R).
Hypothesis HA : forall ys, within both ys -> slope_at (fun t => A t ys) x (dA ys).
Let HM (i j : 'I_n) : slope_at (fun t => as_matrix (cut both (A t)) i j) x (as_matrix dA i j).
Proof.
rewrite mxE; apply: slope_same (HA _) => [t|]; first by rewrite cut_matrix mxE.
by apply: within_cat; exact: place_within.
Qed.
Let HS (i j : 'I_n) : has_slope (fun t => as_matrix (cut both (A t)) i j). Proof. by exists (as_matrix dA i j). Qed.

Lemma near_invertible : (exists N, is_inverse k both (cut both (A x)) N) ->
  \forall t \near x, exists N, is_inverse k both (cut both (A t)) N.
Proof.
move=> /invertible_matrix u; apply: filterS (near_unit (M := fun t => as_matrix (cut both (A t))) HS u) => t ut.
exact/invertible_matrix.
Qed.
Lemma slope_inverse xs : (exists N, is_inverse k both (cut both (A x)) N) -> within both xs ->
  let N := inverse k both (cut both (A x)) in
  slope_at (fun t => inverse k both (cut both (A t)) xs) x
    (- total both (fun us => N (take k xs ++ take k us) * (dA us * N (drop k us ++ drop k xs)))).
Proof.
move=> /invertible_matrix u wx N.
have [w1 w2] := within_split wx.
set i := position w1; set j := position w2.
have at_ f : f xs = as_matrix f i j by rewrite mxE !place_position cat_take_drop.
have G : as_matrix N = invmx (as_matrix (cut both (A x))) by exact: inverse_matrix.
have near : \forall t \near x, invmx (as_matrix (cut both (A t))) i j = inverse k both (cut both (A t)) xs.
  apply: filterS (near_unit (M := fun t => as_matrix (cut both (A t))) HS u) => t ut.
  by rewrite at_ inverse_matrix.
apply: (slope_near near); apply: (slope_as (slope_invmx i j HM u)); rewrite -G mxE; congr (- _).
rewrite total_cat total_sum mxE.
under eq_bigr => b _ do rewrite mxE mulr_suml.
rewrite exchange_big; apply: eq_bigr => a _; rewrite total_sum; apply: eq_bigr => b _.
have s : size (place a) = k by exact: within_size (place_within a).
by rewrite take_size_cat // drop_size_cat // !mxE !place_position mulrA.
Qed.
End Inverse.
